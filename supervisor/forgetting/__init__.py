"""Taking words back: what is meant, where it stands, and how it leaves every place of the workspace."""
