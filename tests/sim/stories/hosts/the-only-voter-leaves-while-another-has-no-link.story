# check all-find-the-leader: check all-find-the-leader: n2: attached 0, leader n0; the log's is n3; applied 0 of 22
chance 43903f0d14b65cfe
hosts 3
units 1
lease_ms 0
start_ms 0
stop_ms 0
mass_loss_percent 0
batch_max 0
time_max_ms 2dab
voters 1
guarded 0
fresh 2
fault.rot 13
member aa7b99578e80a6c7
fault 1
fault 2d2ecf3ce0c2f84d
