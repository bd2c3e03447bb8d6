"""Numbers as users write them."""


def number_of(text: object) -> float:
    """Return the number that a text means.

    Raises
    ------
    ValueError
        If it means none. Python would read 1_0 as ten, which nobody means.

    Examples
    --------
    >>> number_of(" 1e-3")
    0.001
    """
    if "_" in str(text):
        msg = f"{text} is not a number"
        raise ValueError(msg)
    return float(str(text))
