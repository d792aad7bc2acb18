"""The drills, a file for each family. `engine.drill` has the whole list."""
