"""What starts servers, browsers, clusters and other processes."""
