"""One module a codemod: `hits` finds where its fault is in a program, and how the program is without it."""
