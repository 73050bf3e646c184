"""The GGUF file that an embedded model's name means.

`smollm2` is the model that set-up fetched, unless `local.model_path` names another file; any other
plain name is a file of that name in one of the model folders; a path is itself. A file is
looked at before it is handed to llama.cpp, because a wrong file is a person's mistake and deserves
better words than a loader's.
"""

from __future__ import annotations

import sys
from pathlib import Path

from polyvox.errors import ModelError
from polyvox.settings import Settings

EMBEDDED = "smollm2"
_MAGIC = b"GGUF"
_ADVICE = (
    "Run `make setup` to fetch the embedded model, set local.model_path to a GGUF file, "
    "or set a provider's key, such as OPENROUTER_API_KEY."
)


def model_folders(settings: Settings) -> tuple[Path, ...]:
    """Folders of model files: the home first, then beside the installed program."""
    return (settings.home / "models", Path(sys.prefix) / "share" / "polyvox" / "models")


def find_gguf(settings: Settings, name: str) -> Path:
    """The file that `local:name` means, or a `ModelError` that says what to do.

    The error is a plain `ModelError`, which is not transient: trying again would not find it.
    """
    if name == EMBEDDED and settings.local.model_path:
        return _checked(Path(settings.local.model_path), "local.model_path")
    if "/" in name or name.endswith(".gguf"):
        return _checked(Path(name), f"local:{name}")
    for folder in model_folders(settings):
        path = folder / f"{name}.gguf"
        if path.exists():
            return _checked(path, f"local:{name}")
    places = " and ".join(str(folder) for folder in model_folders(settings))
    raise ModelError(f"There is no model file {name}.gguf in {places}.", _ADVICE)


def _checked(path: Path, named_by: str) -> Path:
    path = path.expanduser().absolute()
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except FileNotFoundError:
        raise ModelError(f"There is no model file {path} (named by {named_by}).", _ADVICE) from None
    except IsADirectoryError:
        raise ModelError(
            f"{path} (named by {named_by}) is a folder, not a GGUF file.",
            "Name the .gguf file inside it.",
        ) from None
    except OSError as error:
        raise ModelError(
            f"The model file {path} cannot be read: {error.strerror}.", "Check its permissions."
        ) from None
    if magic != _MAGIC:
        raise ModelError(
            f"{path} (named by {named_by}) is not a GGUF file.",
            f"Choose a model in the GGUF format. {_ADVICE}",
        )
    return path
