#[test]
fn a_dependent_runs_under_cargo_without_a_run_path_of_its_own() {
    assert_eq!(dependent::sum(&[1.0, 2.0, 3.5]), Ok(6.5));
}
