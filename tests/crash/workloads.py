"""Every workload there is; what each does stands in its module."""

from tests.crash import others, people, talking, working
from tests.crash.workload import Workload

WORKLOADS: tuple[type[Workload], ...] = tuple(
    kind
    for module in (talking, working, others, people)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Workload) and kind.__module__ == module.__name__
)
