"""Redis (`REDIS_URL`): memory that all processes share, and that the service does without when it is away."""


def failures() -> tuple[type[Exception], ...]:
    """Return what Redis raises when it cannot be used: for `except failures():`.

    A function, so that its package is loaded by those who use it alone.
    """
    from redis.exceptions import RedisError

    return (RedisError, OSError)
