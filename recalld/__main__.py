"""The start of the command `recalld`."""

from recalld.supervisor.interfaces.entry import main

if __name__ == "__main__":
    main()
