"""Running clusters, followed: whether each can still go back, what closed the way, and alarms when that changes."""
