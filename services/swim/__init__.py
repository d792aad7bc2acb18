"""SWIM membership and spend gossip without I/O, an asyncio shell around it, and a simulator that runs the same code.

`node.Node` takes the time and one event and returns effects; clock, random numbers and packets are arguments. Sources:
SWIM (Das, Gupta, Motivala, 2002), Lifeguard (Dadgar, Phillips, Currey, 2017), and memberlist's published defaults.
"""
