"""Floor 5: the registry of actions and the one pipeline that every host call goes through."""
