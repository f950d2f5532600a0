"""`python -m vmcp`: the same as the `vmcp` command."""

from vmcp.cli.main import main

if __name__ == "__main__":
    main()
