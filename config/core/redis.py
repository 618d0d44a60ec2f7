def failures() -> tuple[type[Exception], ...]:
    """Return what a Redis that is away raises. A function: its package is loaded by those alone who use it."""
    from redis.exceptions import RedisError

    return (RedisError, OSError)
