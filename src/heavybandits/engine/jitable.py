"""How a function that compiled code calls is marked."""

from numba.extending import register_jitable

# Numba would make a C entry of every function too, which nothing calls and every cold start pays.
OPTIONS = {"no_cfunc_wrapper": True}

jitable = register_jitable(**OPTIONS)

# Not inlined by force where its caller is: for what runs seldom and would be compiled often.
outlined = register_jitable(forceinline=False, **OPTIONS)
