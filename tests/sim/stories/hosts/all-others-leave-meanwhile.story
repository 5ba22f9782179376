# check members-are-one: check members-are-one: nobody has answered: remove n4, asked at n3 180000 ms ago
chance 4f5da978776a9db1
hosts 5
units 1
lease_ms 0
start_ms 0
stop_ms 0
mass_loss_percent 0
batch_max 0
time_max_ms d73
voters 0
guarded 0
fresh 1
member a5960d4f2ae543a5
member 6b61601a2a8273b1
member 666b2fb0a5fd012b
member 1e3303f111cbf1b7
member 5b2fef267b32e381
