"""Which node, link or switch is at fault: functions of what was measured, without ReFrame."""
