"""`python -m polyvox` is `polyvox`."""

from polyvox.cli import main

if __name__ == "__main__":
    main()
