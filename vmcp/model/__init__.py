"""Values that every layer shares: frozen, standard library only, no IO."""
