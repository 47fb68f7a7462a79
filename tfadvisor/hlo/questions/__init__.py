"""What a program computes, moves and exchanges."""
