# check entry-within-limits: check entry-within-limits: an entry puts 511 units
chance 47b6483ecc8fb329
hosts 1
units 1
lease_ms 1f4
start_ms 0
stop_ms 0
mass_loss_percent 64
batch_max 0
time_max_ms 64
voters 0
guarded 0
fresh 0
crowd 1ff
events_bytes 0
limit.entry_units 16
ask 0
ask 0
