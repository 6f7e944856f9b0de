"""`python -m falkirk` is the program."""

from falkirk.cli import main

if __name__ == "__main__":
    main()
