"""Patches of the numbers of bits that a program computes with."""
