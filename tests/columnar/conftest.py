"""Every reader is tested with both kernels."""

import pytest


@pytest.fixture(params=[False, True], ids=["numpy", "numba"])
def jit(request):
    return request.param
