"""`python -m discreet`: the same as the `discreet` command."""

from discreet.cli import main

if __name__ == "__main__":
    main()
