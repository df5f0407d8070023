"""The pipeline is proved with models that say little."""

from tests.gate import models_may_say_little

__all__ = ["models_may_say_little"]
