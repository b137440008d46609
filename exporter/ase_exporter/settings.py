"""What all configuration models have in common, in every room."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Base of all configuration models: no unknown keys, values fixed after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)
