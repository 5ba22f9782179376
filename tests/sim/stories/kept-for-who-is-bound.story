# check one-place: check one-place: t1@1.service runs on n2, where it does not belong
chance 790e222a5252e7c6
hosts 2
units 2
lease_ms 99e
start_ms 0
stop_ms 0
mass_loss_percent 4c
batch_max 0
time_max_ms 368
load.several 40
load.looks d
load.again 3c
load.options 40
ask 0
ask e2ce830eb417f2df
settle 0
