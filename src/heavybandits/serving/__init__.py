"""The decision service: agents behind HTTP. `heavybandits serve` starts it.

Here is its client, which needs the standard library alone.
"""

from .client import Choice, Client, ServiceError

__all__ = ["Choice", "Client", "ServiceError"]
