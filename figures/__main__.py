"""`python -m figures` rebuilds the published PNG of every picture from its file's `default()`."""
import importlib
import pathlib

HERE = pathlib.Path(__file__).parent


def names():
    """The pictures: every file of this folder that does not begin with an underscore."""
    return sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


if __name__ == "__main__":
    for name in names():
        picture = importlib.import_module(f"figures.{name}").default()
        (HERE / f"{name}.png").write_bytes(picture.png())
        print(f"figures/{name}.png")
