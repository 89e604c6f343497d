"""What can be measured of the daemon, in the text form of Prometheus."""
