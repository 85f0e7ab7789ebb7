"""What each program needs so that its model calls pass the relay: variables of its environment, options of its command."""
