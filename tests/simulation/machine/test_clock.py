from falkirk.simulation.machine.clock import Clock, HostClock


def test_actions_run_at_their_time_and_those_of_one_time_in_the_order_of_their_planning():
    clock = Clock()
    ran = []
    clock.at(5, lambda: ran.append(("b", clock.now_ms)))
    clock.at(3, lambda: ran.append(("a", clock.now_ms)))
    clock.at(5, lambda: ran.append(("c", clock.now_ms)))
    while clock.step(10):
        pass
    assert ran == [("a", 3), ("b", 5), ("c", 5)]
    assert clock.now_ms == 10


def test_an_action_of_the_past_runs_now():
    clock = Clock()
    clock.step(7)
    ran = []
    clock.at(2, lambda: ran.append(clock.now_ms))
    assert clock.step(10)
    assert ran == [7]


def test_nothing_beyond_the_end_of_a_step_runs():
    clock = Clock()
    clock.at(11, lambda: None)
    assert not clock.step(10)
    assert clock.step(11)


def test_a_hosts_clock_is_off_and_jumps_forward():
    clock = Clock()
    host = HostClock(clock, 1000)
    assert host.now_ms == 1000
    host.jump(50)
    assert (host.now_ms, host.world_ms(1051)) == (1050, 1)
