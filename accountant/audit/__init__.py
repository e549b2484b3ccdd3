"""What the log comes to, looked at from outside: status, realised losses, an independent sum."""
