"""The contracts of `Clock` and `Entropy`."""

from avow.adapters.clock import SystemClock, SystemEntropy


def test_the_clock_gives_milliseconds_of_this_century():
    """Milliseconds since the epoch, not seconds and not nanoseconds."""
    assert 1_700_000_000_000 < SystemClock().now_ms() < 4_000_000_000_000


def test_entropy_gives_fresh_bytes_of_the_size_asked_for():
    """Two draws differ and have the size asked for."""
    source = SystemEntropy()
    assert len(source.draw(10)) == 10
    assert source.draw(16) != source.draw(16)
