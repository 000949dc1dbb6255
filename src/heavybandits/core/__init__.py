"""How parts become one compiled loop: protocols, dispatch, compilation, linear algebra."""
