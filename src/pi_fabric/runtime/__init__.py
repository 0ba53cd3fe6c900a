"""Floor 4: sandbox engines, TypeScript checking and emit, declarations, the guest's own library."""
