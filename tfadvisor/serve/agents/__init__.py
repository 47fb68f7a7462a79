"""What an agent may ask: the questions of the command, answered over the Model Context
Protocol, read-only below a root.

`root` keeps paths inside, `reports` analyses, `tools` words the answers, and `server`
alone knows the protocol.
"""
