"""The paper's experiments: settings for each (task, model, data set), and how the defaults were chosen."""
