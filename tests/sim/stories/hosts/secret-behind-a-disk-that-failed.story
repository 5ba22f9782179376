# check requests-are-answered: check requests-are-answered: nobody has answered secret_set (1), asked at n3 180244 ms ago
chance d08f003850439a4b
hosts 3
units 1
lease_ms 0
start_ms 0
stop_ms 0
mass_loss_percent 0
batch_max 0
time_max_ms 12a
guarded 0
fault.disk_error 40
load.secrets e
fault 3
time 0
