"""Creation of releases (`contents`), and their verification (`checking`)."""
