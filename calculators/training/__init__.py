"""Training and fine-tuning: memory per GPU, speed, days, GPU-hours and energy."""
