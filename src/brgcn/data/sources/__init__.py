"""Where data sets come from over the network: public archives and packages, fetched and unpacked without trust."""
