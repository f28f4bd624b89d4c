"""Where the chunks of an array lie: the byte ranges that VirtualiZarr's and Icechunk's stores refer to."""
