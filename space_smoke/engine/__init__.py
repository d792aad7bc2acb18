"""The visible lists: bringing a bench up, running a scenario, repairing, drilling. The engine yields events and does not
print; it is given what `spec` read and hands `lease` the kinds it knows."""
