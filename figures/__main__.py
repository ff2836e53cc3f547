"""`python -m figures [names]` rebuilds published PNGs, all unless named, each from its file's `default()`."""
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).parent


def names():
    """The pictures: every file of this folder that does not begin with an underscore."""
    return sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(names())
    if unknown:
        sys.exit(f"no picture {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    for name in sys.argv[1:] or names():
        picture = importlib.import_module(f"figures.{name}").default()
        (HERE / f"{name}.png").write_bytes(picture.png())
        print(f"figures/{name}.png")
