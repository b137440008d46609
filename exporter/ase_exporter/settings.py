"""What the files that come with the package have in common."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Base of their models: no unknown keys, values fixed after loading. What users write is `checks.Strict`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
