"""What the models of all YAML files share."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from stream.config.yamlfile import Scalar

__all__ = ["Closed"]


class Closed(BaseModel):
    """Frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)
    short: ClassVar[str] = ""
    """The key that a single value stands for where a mapping belongs; "" where it needs one."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {cls.short: value} if cls.short and isinstance(value, Scalar) else value
