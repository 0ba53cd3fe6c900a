"""The real-resume benchmark: does a model finish a task after its session was compacted?"""
