"""`python -m dsgrl` is `dsgrl`."""

from dsgrl.cli import main

if __name__ == "__main__":
    main()
